import type { Check } from './check.ts'
import { deskChecks } from './desk-checks.ts'
import { invoiceChecks } from './invoice-checks.ts'
import { paymentChecks } from './payment-checks.ts'
import { registerChecks } from './register-checks.ts'

/** All that must hold in the books of an organisation, in the order in which one reads it: keys, money, documents, people. */
export const checks: readonly Check[] = [...registerChecks, ...paymentChecks, ...invoiceChecks, ...deskChecks]
