import { id, integration, integrationChange, integrationInput, integrationPage, pageQuery } from '@einmal/contract'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  changeIntegration,
  createIntegration,
  type Integration,
  readIntegrations,
} from '../modules/integrations/index.ts'
import { administers } from '../modules/members/index.ts'
import { AppError } from '../platform/errors.ts'
import { type AnyPaymentProvider, paymentProviders } from '../providers/index.ts'
import { type ApiParts, answerAct, callerOf, changedFields, movesNothing, toPage } from './api-parts.ts'

const tags = ['integrations']
const config = { access: administers }

/** Senders and their secrets. What is secret goes in and never comes out again, not even to whoever put it in. */
export const integrationRoutes: FastifyPluginAsyncZod<ApiParts> = async (app, parts) => {
  const { db, secretKey } = parts

  app.get(
    '/integrations',
    {
      config,
      schema: {
        tags,
        summary: 'Who may send to the organisation',
        querystring: pageQuery,
        response: { 200: integrationPage },
      },
    },
    async (request) => {
      const { organizationId } = callerOf(request)
      const { cursor = null, limit } = request.query
      const rows = await db.transaction(organizationId, (tx) =>
        readIntegrations(tx, { organizationId, secretKey }, cursor, limit + 1),
      )
      return toPage(rows, limit, toIntegration)
    },
  )

  app.post(
    '/integrations',
    {
      config,
      schema: {
        tags,
        summary: 'Let a sender in',
        description: 'The answer says where they send to. Secrets are stored encrypted and never given out.',
        body: integrationInput,
        response: { 201: integration },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'integration.create', movesNothing, async (tx, context) => {
        const { provider, label } = request.body
        const settings = parseSettings(provider, request.body.settings)
        const made = await createIntegration(tx, { ...context, secretKey }, { provider, label, settings })
        const row: Integration = {
          id: made.integrationId,
          endpointId: made.endpointId,
          provider,
          label,
          settings,
          isEnabled: true,
          createdAt: context.now,
        }
        const subject = { type: 'integration', id: row.id }
        return { status: 201, body: toIntegration(row), subject, data: { provider, label } }
      }),
  )

  app.patch(
    '/integrations/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Change a sender, or switch it off or on',
        description: 'Servers see it within two seconds. Deliveries to a sender that is switched off are answered 404.',
        params: z.object({ id }),
        body: integrationChange,
        response: { 200: integration },
      },
    },
    (request, reply) =>
      answerAct(parts, request, reply, 'integration.change', movesNothing, async (tx, { organizationId }) => {
        const wanted = request.body
        const { before, after } = await changeIntegration(
          tx,
          { organizationId, secretKey },
          request.params.id,
          (known) => ({
            label: wanted.label ?? known.label,
            isEnabled: wanted.isEnabled ?? known.isEnabled,
            settings: parseSettings(known.provider, { ...known.settings, ...wanted.settings }),
          }),
        )
        return {
          status: 200,
          body: toIntegration(after),
          subject: { type: 'integration', id: after.id },
          data: changeOf(before, after),
        }
      }),
  )
}

/** For the audit: of settings only their names. `null` where all is as it was. */
function changeOf(before: Integration, after: Integration) {
  const known = ({ label, isEnabled }: Integration) => ({ label, isEnabled })
  const fields = changedFields(known(before), known(after))
  const settings = Object.keys(changedFields(before.settings, after.settings).after)
  return Object.keys(fields.after).length + settings.length === 0 ? null : { ...fields, settings }
}

function providerOf(name: string): AnyPaymentProvider {
  const provider = paymentProviders[name]
  if (provider !== undefined) return provider
  throw new AppError('invalid', `provider: there is no ${name}; there are ${Object.keys(paymentProviders).join(', ')}`)
}

/** As the provider's schema takes them. Throws `invalid` with the place of each fault, and none of the values. */
function parseSettings(name: string, settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const parsed = providerOf(name).settings.safeParse(settings)
  if (parsed.success) return parsed.data as Record<string, unknown>
  const faults = parsed.error.issues.map(({ path, message }) => `settings.${path.join('.')}: ${message}`)
  throw new AppError('invalid', faults.join('; '))
}

/** Names of the settings that the provider's schema calls secret. */
function secretNames(name: string): Set<string> {
  const { properties = {} } = z.toJSONSchema(providerOf(name).settings, { io: 'input', unrepresentable: 'any' })
  const secret = Object.entries(properties).filter(([, field]) => typeof field === 'object' && field['secret'] === true)
  return new Set(secret.map(([field]) => field))
}

function toIntegration(row: Integration) {
  const secrets = secretNames(row.provider)
  const entries = Object.entries(row.settings)
  return {
    id: row.id,
    provider: row.provider,
    label: row.label,
    isEnabled: row.isEnabled,
    settings: Object.fromEntries(entries.filter(([name]) => !secrets.has(name))),
    secrets: entries.filter(([name]) => secrets.has(name)).map(([name]) => name),
    path: `/webhooks/${row.provider}/${row.endpointId}`,
    createdAt: row.createdAt.toISOString(),
  }
}
