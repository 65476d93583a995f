import { PageHead } from '../../parts/page-head.tsx'

export function InvitationPage() {
  return <PageHead title="InvitationPage" />
}
