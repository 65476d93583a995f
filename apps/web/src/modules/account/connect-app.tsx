import { Stack, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { CopyField } from '../../parts/copy-field.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { CodeField, checks, fieldTexts } from '../../parts/fields.tsx'
import { FormActions } from '../../parts/form-actions.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useFocus } from '../../parts/use-focus.ts'
import { useAct } from '../../platform/api/act.ts'
import { askAuth } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { accountTexts } from './texts.ts'

const QrCode = lazy(async () => ({ default: (await import('qrcode.react')).QRCodeSVG }))

interface Props {
  readonly totpUri: string
  onConnected(): Promise<void>
  onCancel(): void
}

/** The second step is on only when a first code has shown that the app has the secret. */
export function ConnectApp({ totpUri, onConnected, onCancel }: Props) {
  const say = useTexts(accountTexts)
  const sayField = useTexts(fieldTexts)
  const act = useAct((code: string) => askAuth('two-factor/verify-totp', { code }), onConnected)
  const { field, whenSound } = useFields({ code: '' }, ({ code }) => {
    const found = checks.code(code)
    return { code: found && sayField(found) }
  })
  const input = useFocus<HTMLInputElement>()
  const secret = new URL(totpUri).searchParams.get('secret') ?? ''
  return (
    <form noValidate onSubmit={whenSound(({ code }) => act.run(code.replaceAll(' ', '')))}>
      <Stack>
        <Text>{say('scanText')}</Text>
        <div className="qr">
          <Suspense>
            <QrCode value={totpUri} size={184} role="img" aria-label={say('qr')} />
          </Suspense>
        </div>
        <CopyField label={say('secret')} value={secret.replaceAll(/(.{4})(?=.)/g, '$1 ')} />
        <CodeField ref={input} {...field('code')} />
        <ErrorNote error={act.error} />
        <FormActions submit={say('turnOnNow')} isPending={act.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}
