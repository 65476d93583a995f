import { PageHead } from '../../parts/page-head.tsx'

export function MembersPage() {
  return <PageHead title="MembersPage" />
}
