import type { Selectable } from 'kysely'
import { storableText } from '../../platform/json.ts'
import type { Tables } from '../../platform/tables.ts'
import { searchNameOf } from './search-name.ts'

export type ContactRow = Selectable<Tables['contacts']>

/** What of a contact may change. */
export interface ContactFields {
  readonly name: string
  readonly companyId: string | null
  readonly taxId: string | null
  readonly address: Address | null
}

export interface Address {
  readonly street: string | null
  readonly postalCode: string | null
  readonly city: string | null
  /** ISO 3166-1, two capital letters. */
  readonly country: string | null
}

/** The fields as columns of the table. */
export type ContactColumns = ReturnType<typeof columnsOf>

export function columnsOf({ name, companyId, taxId, address }: ContactFields) {
  return {
    name: storableText(name),
    search_name: searchNameOf(name),
    company_id: companyId,
    tax_id: storable(taxId),
    street: storable(address?.street ?? null),
    postal_code: storable(address?.postalCode ?? null),
    city: storable(address?.city ?? null),
    country: address?.country ?? null,
  }
}

function storable(text: string | null): string | null {
  return text === null ? null : storableText(text)
}

/** The fields of a row. An address without a line is none. */
export function fieldsOf(row: ContactRow): ContactFields {
  const { street, postal_code: postalCode, city, country } = row
  const isEmpty = [street, postalCode, city, country].every((line) => line === null)
  const address = isEmpty ? null : { street, postalCode, city, country }
  return { name: row.name, companyId: row.company_id, taxId: row.tax_id, address }
}
