import type { Door, Me } from '@einmal/contract'
import { Button, Stack, Text } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, EmailField, fieldTexts, PasswordField } from '../../parts/fields.tsx'
import { Note } from '../../parts/note.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { useAnswer } from '../../platform/api/use-answer.ts'
import { goTo } from '../../platform/go-to.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { safeNext } from '../../platform/next.ts'
import { signIn } from './sign-in.ts'
import { signInTexts } from './texts.ts'

const importSecondStep = () => import('./second-step.tsx')
const SecondStep = lazy(async () => ({ default: (await importSecondStep()).SecondStep }))

export function SignInPage() {
  const { next } = useSearch({ from: '/door/sign-in' })
  const [needsCode, setNeedsCode] = useState(false)
  const enter = () => goTo(safeNext(next))
  const me = useAnswer<Me>('/me')
  useEffect(() => {
    // Who is signed in already is let through.
    if (me !== null) goTo(safeNext(next))
  }, [me, next])
  if (!needsCode) return <Password onEntered={enter} onCodeNeeded={() => setNeedsCode(true)} />
  return (
    <Suspense>
      <SecondStep onEntered={enter} onStartAgain={() => setNeedsCode(false)} />
    </Suspense>
  )
}

function Password({ onEntered, onCodeNeeded }: { onEntered(): void; onCodeNeeded(): void }) {
  const say = useTexts(signInTexts)
  const sayField = useTexts(fieldTexts)
  const door = useAnswer<Door>('/door')
  const act = useAct(signIn, async (outcome) => {
    if (outcome === 'entered') return onEntered()
    await importSecondStep()
    onCodeNeeded()
  })
  const { field, whenSound } = useFields({ email: '', password: '' }, ({ email, password }) => {
    const found = { email: checks.email(email), password: checks.password(password) }
    return { email: found.email && sayField(found.email), password: found.password && sayField(found.password) }
  })
  return (
    <form noValidate onSubmit={whenSound(({ email, password }) => act.run({ email: email.trim(), password }))}>
      <Stack>
        <PageHead title={say('title')} />
        {door?.needsSetUp === true && <Note>{say('notSetUp')}</Note>}
        <EmailField {...field('email')} />
        <PasswordField {...field('password')} />
        <ErrorNote error={act.error} />
        <Button type="submit" loading={act.isPending}>
          {say('submit')}
        </Button>
        <Text size="sm">
          <PageLink to="/forgot-password">{say('forgot')}</PageLink>
        </Text>
      </Stack>
    </form>
  )
}
