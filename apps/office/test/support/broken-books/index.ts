import type { Break } from './break.ts'
import { deskBreaks } from './desk-breaks.ts'
import { invoiceBreaks } from './invoice-breaks.ts'
import { moneyBreaks } from './money-breaks.ts'
import { registerBreaks } from './register-breaks.ts'

/** Every way to break the books; each check has one at least. */
export const breaks: readonly Break[] = [...registerBreaks, ...moneyBreaks, ...invoiceBreaks, ...deskBreaks]
