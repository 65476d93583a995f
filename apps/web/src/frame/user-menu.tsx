import { Button, Menu, Text, useMantineColorScheme } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { ChevronIcon, LeaveIcon, PersonIcon } from '../parts/icons.tsx'
import { languages } from '../platform/language/language.ts'
import { useLanguage, useTexts } from '../platform/language/language-context.tsx'
import { EverywhereDialog } from './everywhere-dialog.tsx'
import { languageNames } from './language-names.ts'
import { useMe } from './me.ts'
import { frameTexts } from './texts.ts'
import { useSignOut } from './use-session.ts'

const colourSchemes = ['light', 'dark', 'auto'] as const

export function UserMenu() {
  const say = useTexts(frameTexts)
  const { user } = useMe()
  const signOut = useSignOut()
  const button = useRef<HTMLButtonElement>(null)
  const [asksEverywhere, setAsksEverywhere] = useState(false)
  return (
    <>
      <Menu position="bottom-end" width={260} returnFocus>
        <Menu.Target>
          <Button
            variant="subtle"
            ref={button}
            className="user-button"
            leftSection={<PersonIcon />}
            rightSection={<ChevronIcon />}
            loading={signOut.isPending}
            aria-label={say('userMenu', { name: user.name })}
          >
            <span className="user-name">{user.name}</span>
          </Button>
        </Menu.Target>
        <Menu.Dropdown className="user-menu">
          <Menu.Label>
            {user.name}
            <Text size="xs" className="breakable">
              {user.email}
            </Text>
          </Menu.Label>
          <Menu.Item leftSection={<PersonIcon />} renderRoot={(props) => <Link to="/account" {...props} />}>
            {say('account')}
          </Menu.Item>
          <Menu.Divider />
          <LanguageChoice />
          <ColourChoice />
          <Menu.Divider />
          <Menu.Item leftSection={<LeaveIcon />} onClick={() => signOut.run('here')}>
            {say('signOut')}
          </Menu.Item>
          <Menu.Item leftSection={<LeaveIcon />} onClick={() => setAsksEverywhere(true)}>
            {say('signOutEverywhere')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <EverywhereDialog
        isOpen={asksEverywhere}
        onClose={() => {
          setAsksEverywhere(false)
          // What opened it is gone with the menu.
          button.current?.focus()
        }}
      />
    </>
  )
}

function LanguageChoice() {
  const say = useTexts(frameTexts)
  const { language, choose } = useLanguage()
  return (
    <>
      <Menu.Label>{say('language')}</Menu.Label>
      <Menu.RadioGroup
        value={language}
        onChange={(value) => {
          const chosen = languages.find((each) => each === value)
          if (chosen !== undefined) choose(chosen)
        }}
      >
        {languageNames.map(([each, name]) => (
          <Menu.RadioItem key={each} value={each} lang={each}>
            {name}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </>
  )
}

function ColourChoice() {
  const say = useTexts(frameTexts)
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <>
      <Menu.Label>{say('colours')}</Menu.Label>
      <Menu.RadioGroup
        value={colorScheme}
        onChange={(value) => {
          const chosen = colourSchemes.find((each) => each === value)
          if (chosen !== undefined) setColorScheme(chosen)
        }}
      >
        {colourSchemes.map((each) => (
          <Menu.RadioItem key={each} value={each}>
            {say(each)}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </>
  )
}
