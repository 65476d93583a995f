/**
 * Contacts: the people and companies one does business with, and by what they are reached and recognised.
 * Tables: `contacts`, `contact_points`.
 * Invariants: a contact belongs to one organisation; a person belongs to a company of the same one, or to none. A contact
 * point is normalised, and belongs to one contact at most unless it is shared, by a unique key. Whatever changes a contact
 * locks it first and counts its version up.
 * Points are never deleted: one that was removed stays on record and frees its value.
 */
export { type Address, type ContactFields, type ContactRow, fieldsOf } from './contact-fields.ts'
export type { PointKind } from './contact-points.ts'
export {
  addContactPoint,
  type ContactChange,
  type ContactContext,
  type ContactDraft,
  changeContact,
  createContact,
  firstEmail,
  type PointDraft,
  removeContactPoint,
  searchContacts,
} from './contacts.ts'
export { type ContactPointRow, findContact, listContactPoints, listPeople, lockContact } from './queries.ts'
