import { domainToASCII } from 'node:url'
import { isSupportedCountry, ParseError, parsePhoneNumberWithError } from 'libphonenumber-js'

/**
 * One spelling for each identity, so that a unique key can tell whether two are the same. Pure, and steady: what came out
 * comes out again. What has no such spelling is a value that says why, never a guess.
 */

export type PointKind = 'email' | 'phone' | 'iban' | 'messenger'

const pointKinds: readonly PointKind[] = ['email', 'phone', 'iban', 'messenger']

export interface Identity {
  readonly kind: PointKind
  /** Normalised. */
  readonly value: string
}

/** `problem` is the end of a sentence that begins with the name of the field and the text. */
export type NormalisedPoint = { readonly value: string } | { readonly problem: string }

/** @param country of a phone number that is written without its country; two capital letters. */
export function normalisePoint(kind: PointKind, text: string, country: string | null): NormalisedPoint {
  switch (kind) {
    case 'email':
      return normaliseEmail(text)
    case 'phone':
      return normalisePhone(text, country)
    case 'iban':
      return normaliseIban(text)
    case 'messenger':
      return normaliseMessenger(text)
  }
}

/** Every identity that a text typed into a search may mean. Most texts mean none: they are names. */
export function identitiesIn(text: string): Identity[] {
  return pointKinds.flatMap((kind) => {
    const found = normalisePoint(kind, text, null)
    return 'value' in found ? [{ kind, value: found.value }] : []
  })
}

const MAX_EMAIL_LENGTH = 254
const MAX_LOCAL_PART_LENGTH = 64
const localPart = /^[^\s\p{C}@<>()[\]\\,;:".]+(\.[^\s\p{C}@<>()[\]\\,;:".]+)*$/u
const domain = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Small letters on both sides: mailboxes that differ in nothing else are in use nowhere, and people type as they please.
 * Dots and what follows a plus stay: at most providers they are another mailbox.
 */
function normaliseEmail(text: string): NormalisedPoint {
  const [, mailbox = '', name = ''] = /^(.+)@([\p{L}\p{M}\p{N}.-]+)$/u.exec(text.trim()) ?? []
  const local = mailbox.normalize('NFC').toLowerCase().normalize('NFC')
  const host = domainToASCII(name)
  const value = `${local}@${host}`
  const isUsable = localPart.test(local) && domain.test(host)
  if (!isUsable || local.length > MAX_LOCAL_PART_LENGTH || value.length > MAX_EMAIL_LENGTH) {
    return { problem: 'is no e-mail address such as kim@muster.example' }
  }
  return { value }
}

/** E.164, such as `+4930123456`. */
function normalisePhone(text: string, country: string | null): NormalisedPoint {
  const trimmed = text.trim()
  if (country !== null && !isSupportedCountry(country)) {
    return { problem: `cannot be read: ${country} is no country that has phone numbers` }
  }
  if (country === null && !/^[+\uFF0B]/.test(trimmed)) {
    return { problem: 'has neither a + with the country’s number in front, nor a country beside it' }
  }
  try {
    const options = { extract: false, ...(country === null ? {} : { defaultCountry: country }) }
    const number = parsePhoneNumberWithError(trimmed, options)
    if (number.ext !== undefined) return { problem: 'ends in an extension: put that into the label' }
    // Possible, and not valid: plans grow, and a number that is newer than our list of ranges is a number all the same.
    if (!number.isPossible()) return { problem: 'is no phone number: too short or too long for its country' }
    return { value: number.number }
  } catch (error) {
    if (error instanceof ParseError) return { problem: 'is no phone number such as +49 30 123456' }
    throw error
  }
}

/** Lengths of the IBAN registry (SWIFT, ISO 13616). A country that is younger than this list is held to the general rule. */
const ibanLengths: ReadonlyMap<string, number> = new Map(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
   FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32
   LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24
   RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30`
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

function normaliseIban(text: string): NormalisedPoint {
  const signs = text.replaceAll(/\s/g, '')
  if (!/^[A-Za-z]{2}\d{2}[A-Za-z0-9]{11,30}$/.test(signs)) {
    return { problem: 'is no IBAN such as DE89 3704 0044 0532 0130 00' }
  }
  const value = signs.toUpperCase()
  const length = ibanLengths.get(value.slice(0, 2))
  if (length !== undefined && value.length !== length) {
    return { problem: `is no IBAN: one of ${value.slice(0, 2)} has ${length} characters, and this ${value.length}` }
  }
  // 02 to 98: the others leave the same rest, and an account would have two IBANs.
  const digits = Number(value.slice(2, 4))
  if (digits < 2 || digits > 98 || restOf97(value) !== 1) {
    return { problem: 'is no IBAN: its check digits do not fit, so a character is wrong' }
  }
  return { value }
}

/** The first four characters behind the others, letters as numbers from 10 on, modulo 97 (ISO 7064). */
function restOf97(iban: string): number {
  const turned = `${iban.slice(4)}${iban.slice(0, 4)}`
  return [...turned].reduce((rest, sign) => {
    const number = Number.parseInt(sign, 36)
    return (rest * (number > 9 ? 100 : 10) + number) % 97
  }, 0)
}

const MAX_MESSENGER_LENGTH = 255

/** `<network>:<id>`: the network in small letters, the id as the network writes it. */
function normaliseMessenger(text: string): NormalisedPoint {
  const match = /^([A-Za-z][A-Za-z0-9_.-]*)\s*:\s*(\S(?:.*\S)?)$/u.exec(text.trim().normalize('NFC'))
  const [, network = '', id = ''] = match ?? []
  if (match === null || /\p{C}/u.test(id) || text.length > MAX_MESSENGER_LENGTH) {
    return { problem: 'is no messenger id such as telegram:4711' }
  }
  return { value: `${network.toLowerCase()}:${id}` }
}
