import { type Role, roles } from '@einmal/contract'
import { Radio, Stack } from '@mantine/core'
import { useMe } from '../../frame/me.ts'
import { roleTexts } from '../../frame/role-texts.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { memberTexts } from './texts.ts'

/** Only an owner makes an owner. */
export function RoleChoice({ value, onChange }: { readonly value: Role; onChange(role: Role): void }) {
  const say = useTexts(memberTexts)
  const sayRole = useTexts(roleTexts)
  const { organization } = useMe()
  const offered = roles.filter((role) => role !== 'owner' || organization?.role === 'owner')
  return (
    <Radio.Group
      label={say('roleLabel')}
      value={value}
      onChange={(chosen) => {
        const role = roles.find((each) => each === chosen)
        if (role !== undefined) onChange(role)
      }}
    >
      <Stack gap="sm" mt="xs">
        {offered.map((role) => (
          <Radio key={role} value={role} label={sayRole(role)} description={sayRole(`${role}May`)} />
        ))}
      </Stack>
    </Radio.Group>
  )
}
