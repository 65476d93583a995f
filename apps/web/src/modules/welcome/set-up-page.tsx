import { PageHead } from '../../parts/page-head.tsx'

export function SetUpPage() {
  return <PageHead title="SetUpPage" />
}
