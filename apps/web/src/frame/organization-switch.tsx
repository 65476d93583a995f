import { Button, Menu, Text } from '@mantine/core'
import { ChevronIcon } from '../parts/icons.tsx'
import { useTexts } from '../platform/language/language-context.tsx'
import { useMe } from './me.ts'
import { roleTexts } from './role-texts.ts'
import { frameTexts } from './texts.ts'
import { useSwitch } from './use-session.ts'

/** In which organisation one is; a menu where there is a choice. */
export function OrganizationSwitch() {
  const say = useTexts(frameTexts)
  const sayRole = useTexts(roleTexts)
  const { organization, organizations } = useMe()
  const act = useSwitch()
  if (organization === null) return null
  if (organizations.length < 2) {
    return (
      <Text className="office-name" title={organization.name}>
        {organization.name}
      </Text>
    )
  }
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button
          variant="default"
          className="office-switch"
          rightSection={<ChevronIcon />}
          loading={act.isPending}
          aria-label={say('organization', { name: organization.name })}
        >
          {organization.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{say('organizations')}</Menu.Label>
        <Menu.RadioGroup
          value={organization.id}
          onChange={(organizationId) => organizationId !== organization.id && act.run(organizationId)}
        >
          {organizations.map(({ id, name, role }) => (
            <Menu.RadioItem key={id} value={id} closeMenuOnClick>
              {name}
              <Text size="xs" c="dimmed">
                {sayRole(role)}
              </Text>
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  )
}
