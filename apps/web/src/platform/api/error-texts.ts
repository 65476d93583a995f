import { texts } from '../language/language.ts'
import type { KnownCode } from './error-codes.ts'

const again = 'Please try again in a moment.'
const wieder = 'Bitte versuchen Sie es gleich noch einmal.'
const reload = 'Reload the page to see how it stands now.'
const neuLaden = 'Laden Sie die Seite neu, um den jetzigen Stand zu sehen.'
const ourMistake = `The page and the office did not understand each other. Reload the page and try again.`
const unserFehler =
  'Die Seite und das Büro haben sich nicht verstanden. Laden Sie die Seite neu und versuchen Sie es noch einmal.'
const signInAgain = 'You are not signed in any more. Please sign in again.'
const neuAnmelden = 'Sie sind nicht mehr angemeldet. Bitte melden Sie sich neu an.'
const wrongAddress =
  'The office does not know the address you opened it under. Open it under its usual address, or ask whoever runs it.'
const falscheAdresse =
  'Das Büro kennt die Adresse nicht, unter der Sie es geöffnet haben. Öffnen Sie es unter seiner üblichen Adresse, oder fragen Sie, wer es betreibt.'

const english = {
  offline: 'You are offline. Nothing is lost: try again as soon as the connection is back.',
  no_answer: 'The office does not answer. Check your connection and try again; nothing is done twice.',
  internal: 'Something went wrong on our side. Trying again does nothing twice.',
  unavailable: 'The office is too busy at the moment. Try again in a minute; nothing is done twice.',
  in_progress: `The same is being done at this moment. ${again}`,
  unauthorized: signInAgain,
  UNAUTHORIZED: signInAgain,
  SESSION_EXPIRED: signInAgain,
  forbidden: 'Your role does not allow this. Ask an owner of the organisation.',
  not_found: `This is not there, or not there any more. ${reload}`,
  invalid: 'Something in what you entered cannot be used. Please check your entries.',
  too_many_attempts: 'Too many attempts. Please wait a few minutes and try again.',
  too_many_failed: 'Too many attempts. Please wait a few minutes and try again.',
  INVALID_EMAIL_OR_PASSWORD: 'E-mail or password is not right. Check both, or choose a new password.',
  INVALID_EMAIL: 'This is no e-mail address. Please check it.',
  INVALID_PASSWORD: 'The password is not right. Please enter it again.',
  INVALID_CODE: 'This code is not right. Codes change every 30 seconds: enter the one shown now.',
  INVALID_BACKUP_CODE: 'This recovery code is not right, or was used already. Take another one from your list.',
  INVALID_TOKEN: 'This link does not work any more. Ask for a new one.',
  INVALID_TWO_FACTOR_COOKIE: 'This took too long. Please sign in with your password once more.',
  PASSWORD_TOO_SHORT: 'The password is too short. Take at least 10 characters.',
  PASSWORD_TOO_LONG: 'The password is too long. Take at most 128 characters.',
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: 'Too many wrong codes. Please sign in with your password once more.',
  ACCOUNT_TEMPORARILY_LOCKED: 'Too many wrong codes. Wait 15 minutes, then sign in again.',
  TWO_FACTOR_NOT_ENABLED: `Two-step sign-in is switched off already. ${reload}`,
  TOTP_NOT_ENABLED: `Two-step sign-in is switched off already. ${reload}`,
  TOTP_ALREADY_ENABLED: `Two-step sign-in is switched on already. ${reload}`,
  INVALID_ORIGIN: wrongAddress,
  MISSING_OR_NULL_ORIGIN: wrongAddress,
  origin_refused: wrongAddress,
  link_invalid:
    'This link does not work any more: it was used, replaced or withdrawn, or it is too old. Ask for a new one.',
  set_up_done: 'This office is set up already. Sign in, or ask for an invitation.',
  last_owner: 'An organisation needs an owner. Make somebody else an owner first.',
  already_member: 'This person is a member already.',
  account_exists: 'There is an account with this address already. Sign in with it, and open the link again.',
  invitation_ended: 'This invitation is accepted or withdrawn already. Invite the person anew.',
  already_invited: 'This person is invited already. Send the invitation again instead.',
  no_organization: 'You belong to no organisation. Ask an owner for an invitation.',
  bad_request: ourMistake,
  idempotency_key_missing: ourMistake,
  idempotency_key_invalid: ourMistake,
  if_match_invalid: ourMistake,
  media_type_unsupported: ourMistake,
  content_differs: ourMistake,
  key_unusable: ourMistake,
  token_invalid: ourMistake,
  signature_invalid: 'The sender could not prove who it is. Check the secret in the settings of the connection.',
  body_too_large: 'This is too large. Send less at once.',
  version_stale: `Somebody changed this meanwhile. ${reload}`,
  contact_point_taken:
    'This address or number belongs to another contact. Remove it there first, or mark it as shared.',
  invoice_not_draft: 'This invoice is no draft any more and stays as it is. Copy it, or write a credit note.',
  invoice_not_open: 'This invoice takes no payment: it is not issued, or it is void.',
  invoice_not_voidable: 'This document cannot be made void. Move or refund the payment first, or write a credit note.',
  credit_exceeds: 'That is more than is left to be credited. Take a smaller amount.',
  adjustment_exceeds: `That is more than is open. ${reload}`,
  amount_exceeds: 'That is more than the payment has left. Take a smaller amount.',
  nothing_applied: `The payment does not lie there any more. ${reload}`,
  reversed_already: 'This has been taken back already. Nothing is left to do.',
  decided_already: `Somebody has decided this already. ${reload}`,
  decision_unsuitable: `This cannot be decided that way. ${reload}`,
  still_unclear: 'This still cannot be understood. Enter it by hand.',
  outcome_unknown: 'Nobody knows yet how this ended. Look it up before you do it again.',
  failed_for_good: 'This failed and will not be tried again.',
  not_due: 'This failed and will be tried again by itself in a while.',
  lease_lost: 'Somebody else has taken this over.',
  nothing_to_resolve: `There is nothing to decide here any more. ${reload}`,
  nothing_to_repeat: `Only what is done can be done again. ${reload}`,
} as const satisfies Record<KnownCode, string>

const german = {
  offline: 'Sie sind offline. Nichts geht verloren: Versuchen Sie es noch einmal, sobald die Verbindung wieder da ist.',
  no_answer:
    'Das Büro antwortet nicht. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal; doppelt geschieht nichts.',
  internal: 'Bei uns ist etwas schiefgegangen. Ein neuer Versuch bewirkt nichts doppelt.',
  unavailable:
    'Das Büro ist gerade überlastet. Versuchen Sie es in einer Minute noch einmal; doppelt geschieht nichts.',
  in_progress: `Dasselbe geschieht gerade schon. ${wieder}`,
  unauthorized: neuAnmelden,
  UNAUTHORIZED: neuAnmelden,
  SESSION_EXPIRED: neuAnmelden,
  forbidden: 'Ihre Rolle erlaubt das nicht. Fragen Sie eine Inhaberin oder einen Inhaber der Organisation.',
  not_found: `Das gibt es nicht oder nicht mehr. ${neuLaden}`,
  invalid: 'Eine Ihrer Angaben ist so nicht brauchbar. Bitte prüfen Sie Ihre Eingaben.',
  too_many_attempts: 'Zu viele Versuche. Bitte warten Sie ein paar Minuten und versuchen Sie es dann noch einmal.',
  too_many_failed: 'Zu viele Versuche. Bitte warten Sie ein paar Minuten und versuchen Sie es dann noch einmal.',
  INVALID_EMAIL_OR_PASSWORD:
    'E-Mail oder Passwort stimmt nicht. Prüfen Sie beides, oder wählen Sie ein neues Passwort.',
  INVALID_EMAIL: 'Das ist keine E-Mail-Adresse. Bitte prüfen Sie sie.',
  INVALID_PASSWORD: 'Das Passwort stimmt nicht. Bitte geben Sie es noch einmal ein.',
  INVALID_CODE: 'Dieser Code stimmt nicht. Er wechselt alle 30 Sekunden: Geben Sie den ein, der jetzt angezeigt wird.',
  INVALID_BACKUP_CODE:
    'Dieser Wiederherstellungscode stimmt nicht oder wurde schon benutzt. Nehmen Sie einen anderen von Ihrer Liste.',
  INVALID_TOKEN: 'Dieser Link gilt nicht mehr. Fordern Sie einen neuen an.',
  INVALID_TWO_FACTOR_COOKIE: 'Das hat zu lange gedauert. Bitte melden Sie sich noch einmal mit Ihrem Passwort an.',
  PASSWORD_TOO_SHORT: 'Das Passwort ist zu kurz. Nehmen Sie mindestens 10 Zeichen.',
  PASSWORD_TOO_LONG: 'Das Passwort ist zu lang. Nehmen Sie höchstens 128 Zeichen.',
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE:
    'Zu viele falsche Codes. Bitte melden Sie sich noch einmal mit Ihrem Passwort an.',
  ACCOUNT_TEMPORARILY_LOCKED: 'Zu viele falsche Codes. Warten Sie 15 Minuten und melden Sie sich dann neu an.',
  TWO_FACTOR_NOT_ENABLED: `Die Anmeldung in zwei Schritten ist schon ausgeschaltet. ${neuLaden}`,
  TOTP_NOT_ENABLED: `Die Anmeldung in zwei Schritten ist schon ausgeschaltet. ${neuLaden}`,
  TOTP_ALREADY_ENABLED: `Die Anmeldung in zwei Schritten ist schon eingeschaltet. ${neuLaden}`,
  INVALID_ORIGIN: falscheAdresse,
  MISSING_OR_NULL_ORIGIN: falscheAdresse,
  origin_refused: falscheAdresse,
  link_invalid:
    'Dieser Link gilt nicht mehr: Er wurde benutzt, ersetzt oder zurückgezogen, oder er ist zu alt. Bitten Sie um einen neuen.',
  set_up_done: 'Dieses Büro ist schon eingerichtet. Melden Sie sich an, oder lassen Sie sich einladen.',
  last_owner: 'Eine Organisation braucht eine Inhaberin oder einen Inhaber. Geben Sie erst jemand anderem diese Rolle.',
  already_member: 'Diese Person ist schon Mitglied.',
  account_exists:
    'Zu dieser Adresse gibt es schon ein Konto. Melden Sie sich damit an, und öffnen Sie den Link noch einmal.',
  invitation_ended: 'Diese Einladung ist schon angenommen oder zurückgezogen. Laden Sie die Person neu ein.',
  already_invited: 'Diese Person ist schon eingeladen. Senden Sie die Einladung stattdessen noch einmal.',
  no_organization: 'Sie gehören zu keiner Organisation. Lassen Sie sich einladen.',
  bad_request: unserFehler,
  idempotency_key_missing: unserFehler,
  idempotency_key_invalid: unserFehler,
  if_match_invalid: unserFehler,
  media_type_unsupported: unserFehler,
  content_differs: unserFehler,
  key_unusable: unserFehler,
  token_invalid: unserFehler,
  signature_invalid:
    'Der Absender konnte nicht belegen, wer er ist. Prüfen Sie das Geheimnis in den Einstellungen der Verbindung.',
  body_too_large: 'Das ist zu groß. Senden Sie weniger auf einmal.',
  version_stale: `Jemand hat das inzwischen geändert. ${neuLaden}`,
  contact_point_taken:
    'Diese Adresse oder Nummer gehört zu einem anderen Kontakt. Entfernen Sie sie erst dort, oder kennzeichnen Sie sie als geteilt.',
  invoice_not_draft:
    'Diese Rechnung ist kein Entwurf mehr und bleibt, wie sie ist. Kopieren Sie sie, oder schreiben Sie eine Gutschrift.',
  invoice_not_open: 'Diese Rechnung nimmt keine Zahlung an: Sie ist nicht gestellt, oder sie ist storniert.',
  invoice_not_voidable:
    'Dieser Beleg lässt sich nicht stornieren. Verschieben oder erstatten Sie erst die Zahlung, oder schreiben Sie eine Gutschrift.',
  credit_exceeds: 'Das ist mehr, als noch gutgeschrieben werden kann. Nehmen Sie einen kleineren Betrag.',
  adjustment_exceeds: `Das ist mehr, als offen ist. ${neuLaden}`,
  amount_exceeds: 'Das ist mehr, als von der Zahlung übrig ist. Nehmen Sie einen kleineren Betrag.',
  nothing_applied: `Die Zahlung liegt dort nicht mehr. ${neuLaden}`,
  reversed_already: 'Das wurde schon zurückgenommen. Es bleibt nichts zu tun.',
  decided_already: `Das hat schon jemand entschieden. ${neuLaden}`,
  decision_unsuitable: `So lässt sich das nicht entscheiden. ${neuLaden}`,
  still_unclear: 'Das ist noch immer nicht zu verstehen. Tragen Sie es von Hand ein.',
  outcome_unknown: 'Noch weiß niemand, wie das ausgegangen ist. Sehen Sie nach, bevor Sie es noch einmal tun.',
  failed_for_good: 'Das ist fehlgeschlagen und wird nicht noch einmal versucht.',
  not_due: 'Das ist fehlgeschlagen und wird nach einer Weile von selbst noch einmal versucht.',
  lease_lost: 'Das hat inzwischen jemand anderes übernommen.',
  nothing_to_resolve: `Hier ist nichts mehr zu entscheiden. ${neuLaden}`,
  nothing_to_repeat: `Nur was erledigt ist, lässt sich wiederholen. ${neuLaden}`,
} as const satisfies Record<KnownCode, string>

/** For whatever no code speaks of: with the number by which whoever runs the office finds it in the log. */
const general = texts(
  {
    unknown: 'That did not work. Please try again; nothing is done twice.',
    reference: 'If it stays so, tell whoever runs the office this number: {requestId}',
    wait: { one: 'You can try again in a minute.', other: 'You can try again in {count} minutes.' },
    title: 'That did not work',
    retry: 'Try again',
  },
  {
    unknown: 'Das hat nicht geklappt. Bitte versuchen Sie es noch einmal; doppelt geschieht nichts.',
    reference: 'Wenn es so bleibt, nennen Sie dem Betreiber des Büros diese Nummer: {requestId}',
    wait: {
      one: 'In einer Minute können Sie es wieder versuchen.',
      other: 'In {count} Minuten können Sie es wieder versuchen.',
    },
    title: 'Das hat nicht geklappt',
    retry: 'Noch einmal versuchen',
  },
)

export const errorTexts = { coded: texts(english, german), general }
