import { AppShell, Burger, Group, NavLink, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { QueryClientProvider } from '@tanstack/react-query'
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { areas } from '../areas.ts'
import { PageHead } from '../parts/page-head.tsx'
import { goTo } from '../platform/go-to.ts'
import { useLanguage, useTexts } from '../platform/language/language-context.tsx'
import { entriesFor, isOpenTo, type NavigationEntry } from './area.ts'
import { Mark } from './mark.tsx'
import { meQuery, useMe } from './me.ts'
import { NoOrganization } from './no-organization.tsx'
import { Notices } from './notices.tsx'
import { Offline } from './offline.tsx'
import { OrganizationSwitch } from './organization-switch.tsx'
import { queryClient } from './query-client.ts'
import { hearSessionChanges } from './session-changes.ts'
import { frameTexts } from './texts.ts'
import { UserMenu } from './user-menu.tsx'

/** The frame of the office: whoever is signed in sees it around every page. */
export function Office() {
  return (
    <QueryClientProvider client={queryClient}>
      <Frame />
    </QueryClientProvider>
  )
}

function Frame() {
  const say = useTexts(frameTexts)
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const main = useRef<HTMLElement>(null)
  const { organization } = useMe()
  const pathname = useLocation({ select: (location) => location.pathname })
  useSameOrganization()
  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 250, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
      transitionDuration={0}
    >
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        {say('skip')}
      </button>
      {/* Above the navigation, which comes after it: its menus reach down over it. */}
      <AppShell.Header className="office-header" zIndex={102}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Group wrap="nowrap" gap="sm" className="office-place">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={say(isOpen ? 'closeMenu' : 'openMenu')}
              aria-expanded={isOpen}
              aria-controls="navigation"
            />
            <Mark />
            <OrganizationSwitch />
          </Group>
          <UserMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar id="navigation" component="nav" aria-label={say('navigation')} p="sm" className="office-nav">
        <div>
          <OrganizationSwitch />
        </div>
        {organization !== null && <Navigation entries={entriesFor(organization.role, areas)} onChosen={close} />}
      </AppShell.Navbar>
      <AppShell.Main id="content" ref={main} tabIndex={-1}>
        <Offline />
        <div className="office-page">
          <OfficePage pathname={pathname} />
        </div>
      </AppShell.Main>
      <Notices />
    </AppShell>
  )
}

function OfficePage({ pathname }: { readonly pathname: string }) {
  const say = useTexts(frameTexts)
  const { organization } = useMe()
  if (organization === null) return pathname === '/account' ? <Outlet /> : <NoOrganization />
  if (!isOpenTo(organization.role, pathname, areas)) {
    return <PageHead title={say('notOpenTitle')} description={say('notOpenText')} />
  }
  return <Outlet />
}

function Navigation({ entries, onChosen }: { readonly entries: readonly NavigationEntry[]; onChosen(): void }) {
  const say = useTexts(frameTexts)
  return (
    <Stack gap="lg">
      {(['work', 'settings'] as const).map((group) => (
        <div key={group}>
          {group === 'settings' && (
            <Text size="sm" c="dimmed" px="sm" pb={4} id="navigation-settings">
              {say('settings')}
            </Text>
          )}
          <ul className="plain" aria-labelledby={group === 'settings' ? 'navigation-settings' : undefined}>
            {entries
              .filter((entry) => entry.group === group)
              .map((entry) => (
                <li key={entry.to}>
                  <Entry entry={entry} onChosen={onChosen} />
                </li>
              ))}
          </ul>
        </div>
      ))}
    </Stack>
  )
}

function Entry({ entry, onChosen }: { readonly entry: NavigationEntry; onChosen(): void }) {
  const { language } = useLanguage()
  const pathname = useLocation({ select: (location) => location.pathname })
  const isHere = entry.to === '/' ? pathname === '/' : `${pathname}/`.startsWith(`${entry.to}/`)
  const Icon = entry.icon
  return (
    <NavLink
      renderRoot={(props) => <Link to={entry.to} {...props} />}
      label={entry.label[language]}
      leftSection={<Icon />}
      active={isHere}
      aria-current={isHere ? 'page' : undefined}
      onClick={onChosen}
    />
  )
}

/**
 * The session knows one organisation for all tabs. When another tab signed out or went to another one, this tab must not go on showing
 * what was read before, or write to the one what was meant for the other.
 */
function useSameOrganization(): void {
  const { organization } = useMe()
  const [organizationId] = useState(organization?.id)
  useEffect(() => hearSessionChanges(() => void queryClient.invalidateQueries({ queryKey: meQuery.queryKey })), [])
  useEffect(() => {
    if (organization?.id !== organizationId) goTo('/')
  }, [organization, organizationId])
}
