import type { ApiKeyInput, ApiKeyMade } from '@einmal/contract'
import { Button, Checkbox, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { CopyField } from '../../parts/copy-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { FormActions } from '../../parts/form-actions.tsx'
import { KeptEnding } from '../../parts/kept-ending.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useFocus } from '../../parts/use-focus.ts'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useRefresh } from '../../platform/api/use-list.ts'
import { dayFromToday } from '../../platform/clock.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { apiKeyTexts } from './texts.ts'

export function MakeDialog({ isOpen, onClose }: { readonly isOpen: boolean; onClose(): void }) {
  const say = useTexts(apiKeyTexts)
  const [made, setMade] = useState<ApiKeyMade | null>(null)
  const close = () => {
    setMade(null)
    onClose()
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={say(made === null ? 'makeTitle' : 'keyTitle')}
      mustBeAnswered={made !== null}
    >
      {made === null ? <MakeForm onMade={setMade} onCancel={close} /> : <Made made={made} onDone={close} />}
    </Dialog>
  )
}

const kinds = ['register', 'read', 'full'] as const

function MakeForm({ onMade, onCancel }: { onMade(made: ApiKeyMade): void; onCancel(): void }) {
  const say = useTexts(apiKeyTexts)
  const refresh = useRefresh()
  const [kind, setKind] = useState<(typeof kinds)[number]>('register')
  const [mayResolve, setMayResolve] = useState(false)
  const act = useAct(
    (draft: ApiKeyInput, key) => write<ApiKeyMade>('POST', '/api-keys', draft, key),
    async (made) => {
      await refresh('/api-keys')
      onMade(made)
    },
  )
  const { field, whenSound } = useFields({ name: '', expiry: '' }, ({ name, expiry }) => ({
    name: name.trim() === '' ? say('nameMissing') : null,
    expiry: expiry !== '' && expiry < dayFromToday(1) ? say('expiryPast') : null,
  }))
  const onSubmit = whenSound(({ name, expiry }) => {
    const scopes: ApiKeyInput['scopes'] = kind === 'register' && mayResolve ? [kind, 'resolve'] : [kind]
    const until = expiry === '' ? {} : { expiresAt: new Date(`${expiry}T23:59:59.999`).toISOString() }
    act.run({ name: name.trim(), scopes, ...until })
  })
  return (
    <form noValidate onSubmit={onSubmit}>
      <Stack>
        <TextInput
          label={say('nameLabel')}
          description={say('nameHint')}
          maxLength={100}
          autoComplete="off"
          data-autofocus
          {...field('name')}
        />
        <Radio.Group
          label={say('mayLabel')}
          value={kind}
          onChange={(chosen) => setKind(kinds.find((each) => each === chosen) ?? 'register')}
        >
          <Stack gap="sm" mt="xs">
            {kinds.map((each) => (
              <Radio key={each} value={each} label={say(each)} description={say(`${each}Hint`)} />
            ))}
          </Stack>
        </Radio.Group>
        {kind === 'register' && (
          <Checkbox
            label={say('resolve')}
            description={say('resolveHint')}
            checked={mayResolve}
            onChange={(event) => setMayResolve(event.currentTarget.checked)}
          />
        )}
        <TextInput
          type="date"
          label={say('expiry')}
          description={say('expiryHint')}
          min={dayFromToday(1)}
          {...field('expiry')}
        />
        <ErrorNote error={act.error} />
        <FormActions submit={say('submit')} isPending={act.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}

/** The only time the key is there to be seen. */
function Made({ made, onDone }: { readonly made: ApiKeyMade; onDone(): void }) {
  const say = useTexts(apiKeyTexts)
  const step = useFocus<HTMLDivElement>()
  if (made.key === null) {
    return (
      <Stack ref={step} tabIndex={-1}>
        <Text>{say('keyGone', { name: made.apiKey.name })}</Text>
        <Group justify="flex-end">
          <Button onClick={onDone}>{say('done')}</Button>
        </Group>
      </Stack>
    )
  }
  return (
    <Stack ref={step} tabIndex={-1}>
      <Text>{say('keyText')}</Text>
      <CopyField label={say('key')} value={made.key} />
      <KeptEnding kept={say('kept')} missing={say('keptMissing')} done={say('done')} onDone={onDone} />
    </Stack>
  )
}
