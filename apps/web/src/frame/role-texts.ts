import type { Role } from '@einmal/contract'
import { type Catalogue, texts } from '../platform/language/language.ts'

/** What a role is called, and what it may do. */
export const roleTexts = texts(
  {
    owner: 'Owner',
    admin: 'Administration',
    accountant: 'Accounting',
    agent: 'Team',
    viewer: 'Read only',
    ownerMay: 'May do everything, also decide who the owners are.',
    adminMay: 'Runs the office: members, keys and settings. Cannot touch owners.',
    accountantMay: 'Keeps the books and reads the record of changes.',
    agentMay: 'Does the daily work with customers.',
    viewerMay: 'Sees the work and changes nothing.',
  },
  {
    owner: 'Inhaber/in',
    admin: 'Verwaltung',
    accountant: 'Buchhaltung',
    agent: 'Team',
    viewer: 'Nur lesen',
    ownerMay: 'Darf alles, auch bestimmen, wem das Büro gehört.',
    adminMay: 'Führt das Büro: Mitglieder, Schlüssel und Einstellungen. Nur über Inhaber/innen bestimmt sie nicht.',
    accountantMay: 'Führt die Bücher und liest das Protokoll.',
    agentMay: 'Erledigt die tägliche Arbeit mit Kundinnen und Kunden.',
    viewerMay: 'Sieht die Arbeit und ändert nichts.',
  },
) satisfies Catalogue<Record<Role | `${Role}May`, string>>
