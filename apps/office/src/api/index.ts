/**
 * The API under `/api/v1`: API keys and sessions, JSON, problem answers. Routes only: they check who asks, call a module and
 * put its rows into the contract's shapes.
 * Invariant: the organisation comes from the key or the membership, and from nowhere else.
 */
import type { FastifyPluginAsync } from 'fastify'
import { apiKeyRoutes } from './api-key-routes.ts'
import { type ApiParts, requireCaller } from './api-parts.ts'
import { auditRoutes } from './audit-routes.ts'
import { companyRoutes } from './company-routes.ts'
import { contactPointRoutes } from './contact-point-routes.ts'
import { contactRoutes } from './contact-routes.ts'
import { dealRoutes } from './deal-routes.ts'
import { doorRoutes } from './door-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { integrationRoutes } from './integration-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { invoiceMoneyRoutes } from './invoice-money-routes.ts'
import { invoiceRoutes } from './invoice-routes.ts'
import { invoiceStepRoutes } from './invoice-step-routes.ts'
import { meRoutes } from './me-routes.ts'
import { memberRoutes } from './member-routes.ts'
import { notificationRoutes } from './notification-routes.ts'
import { paymentMoveRoutes } from './payment-move-routes.ts'
import { paymentReturnRoutes } from './payment-return-routes.ts'
import { paymentRoutes } from './payment-routes.ts'
import { registerRoutes, workEndRoutes } from './register-routes.ts'
import { reviewItemRoutes } from './review-item-routes.ts'
import { timeLineRoutes } from './time-line-routes.ts'
import { workDecisionRoutes } from './work-decision-routes.ts'

export const apiRoutes: FastifyPluginAsync<ApiParts> = async (app, options) => {
  const { db, door, clock, newId, secretKey, pipeline, endpoints } = options
  const parts: ApiParts = { db, door, clock, newId, secretKey, pipeline, endpoints }
  requireCaller(app, parts)
  await app.register(doorRoutes, parts)
  await app.register(meRoutes, parts)
  await app.register(memberRoutes, parts)
  await app.register(invitationRoutes, parts)
  await app.register(apiKeyRoutes, parts)
  await app.register(integrationRoutes, parts)
  await app.register(contactRoutes, parts)
  await app.register(contactPointRoutes, parts)
  await app.register(companyRoutes, parts)
  await app.register(dealRoutes, parts)
  await app.register(timeLineRoutes, parts)
  await app.register(invoiceRoutes, parts)
  await app.register(invoiceStepRoutes, parts)
  await app.register(invoiceMoneyRoutes, parts)
  await app.register(paymentRoutes, parts)
  await app.register(paymentMoveRoutes, parts)
  await app.register(paymentReturnRoutes, parts)
  await app.register(eventRoutes, parts)
  await app.register(registerRoutes, parts)
  await app.register(workEndRoutes, parts)
  await app.register(workDecisionRoutes, parts)
  await app.register(reviewItemRoutes, parts)
  await app.register(notificationRoutes, parts)
  await app.register(auditRoutes, parts)
}
