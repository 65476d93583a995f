import { Outlet } from '@tanstack/react-router'
import { useLanguage } from '../platform/language/language-context.tsx'
import { languageNames } from './language-names.ts'
import { Mark } from './mark.tsx'
import { Offline } from './offline.tsx'

/** Around the pages for those who are not signed in. */
export function Door() {
  return (
    <div className="door">
      <Offline />
      <header>
        <Mark />
      </header>
      <main className="door-card">
        <Outlet />
      </main>
      <footer>
        <Languages />
      </footer>
    </div>
  )
}

function Languages() {
  const { language, choose } = useLanguage()
  return (
    <ul className="door-languages">
      {languageNames.map(([each, name]) => (
        <li key={each}>
          <button type="button" lang={each} aria-pressed={each === language} onClick={() => choose(each)}>
            {name}
          </button>
        </li>
      ))}
    </ul>
  )
}
