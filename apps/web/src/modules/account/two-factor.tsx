import { Button, Group } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { meQuery, useMe } from '../../frame/me.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { askAuth } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { ConnectApp } from './connect-app.tsx'
import { PasswordFirst } from './password-first.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { accountTexts } from './texts.ts'

interface Enabled {
  readonly totpURI: string
  readonly backupCodes: readonly string[]
}

type Step =
  | { readonly name: 'turn_on' | 'turn_off' | 'new_codes' }
  | { readonly name: 'connect'; readonly enabled: Enabled }
  | { readonly name: 'codes'; readonly codes: readonly string[]; readonly areNew: boolean }

const titles = {
  turn_on: 'secondStep',
  turn_off: 'offTitle',
  new_codes: 'newCodes',
  connect: 'scanTitle',
  codes: 'codesTitle',
} as const

export function TwoFactor() {
  const say = useTexts(accountTexts)
  const { user } = useMe()
  const [step, setStep] = useState<Step | null>(null)
  const [isOpen, setIsOpen] = useState(false)
  const begin = (name: 'turn_on' | 'turn_off' | 'new_codes') => {
    setStep({ name })
    setIsOpen(true)
  }
  return (
    <>
      <Group gap="sm">
        {user.hasTwoFactor ? (
          <>
            <Button variant="default" onClick={() => begin('new_codes')}>
              {say('newCodes')}
            </Button>
            <Button variant="default" onClick={() => begin('turn_off')}>
              {say('turnOff')}
            </Button>
          </>
        ) : (
          <Button onClick={() => begin('turn_on')}>{say('turnOn')}</Button>
        )}
      </Group>
      <Dialog
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        title={step === null ? '' : say(titles[step.name])}
        mustBeAnswered={step?.name === 'codes'}
      >
        {step !== null && <StepOf step={step} onStep={setStep} onClose={() => setIsOpen(false)} />}
      </Dialog>
    </>
  )
}

interface StepProps {
  readonly step: Step
  onStep(step: Step): void
  onClose(): void
}

function StepOf({ step, onStep, onClose }: StepProps) {
  const say = useTexts(accountTexts)
  const queryClient = useQueryClient()
  const readMe = () => queryClient.invalidateQueries({ queryKey: meQuery.queryKey })
  switch (step.name) {
    case 'turn_on':
      return (
        <PasswordFirst
          submit={say('continue')}
          perform={(password) => askAuth<Enabled>('two-factor/enable', { password })}
          onDone={(enabled) => onStep({ name: 'connect', enabled })}
          onCancel={onClose}
        />
      )
    case 'connect':
      return (
        <ConnectApp
          totpUri={step.enabled.totpURI}
          onConnected={async () => {
            giveNotice(say('turnedOn'))
            await readMe()
            onStep({ name: 'codes', codes: step.enabled.backupCodes, areNew: false })
          }}
          onCancel={onClose}
        />
      )
    case 'new_codes':
      return (
        <PasswordFirst
          text={say('codesOld')}
          submit={say('continue')}
          perform={(password) => askAuth<Enabled>('two-factor/generate-backup-codes', { password })}
          onDone={({ backupCodes }) => onStep({ name: 'codes', codes: backupCodes, areNew: true })}
          onCancel={onClose}
        />
      )
    case 'turn_off':
      return (
        <PasswordFirst
          text={say('offText')}
          submit={say('turnOff')}
          perform={(password) => askAuth('two-factor/disable', { password })}
          onDone={async () => {
            giveNotice(say('turnedOff'))
            await readMe()
            onClose()
          }}
          onCancel={onClose}
        />
      )
    case 'codes':
      return <RecoveryCodes codes={step.codes} areNew={step.areNew} onDone={onClose} />
  }
}
