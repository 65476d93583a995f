/**
 * Contacts: the people and companies one does business with.
 * Table: `contacts`.
 * Invariant: a contact belongs to one organisation; invoices and payments can point at no other's.
 */
export { type ContactRow, findContact, insertContact, listContacts } from './queries.ts'
