import { PageHead } from '../../parts/page-head.tsx'

export function ApiKeysPage() {
  return <PageHead title="ApiKeysPage" />
}
