import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { useTexts } from '../platform/language/language-context.tsx'
import { frameTexts } from './texts.ts'
import { useSignOut } from './use-session.ts'

/** Asks before all devices are signed out. */
export function EverywhereDialog({ isOpen, onClose }: { readonly isOpen: boolean; onClose(): void }) {
  const say = useTexts(frameTexts)
  const signOut = useSignOut()
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={say('everywhereTitle')}
      text={say('everywhereText')}
      confirm={say('signOutEverywhere')}
      act={signOut}
      onConfirm={() => signOut.run('everywhere')}
    />
  )
}
