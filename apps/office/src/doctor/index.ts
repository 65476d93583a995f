/**
 * The doctor: recomputes every counter, state and sum of an organisation from its rows, and names what disagrees.
 *
 * It reads and never writes. Its statements walk an organisation from end to end, by intent: nobody waits for them, and
 * what no index leads to is just what has to be found. It knows the tables of all modules and none of their code, so that
 * a bug there cannot hide here; a test that breaks the books on purpose holds each check to what it says.
 */
export type { Check, Severity } from './check.ts'
export { checks } from './checks.ts'
export { diagnose, type Finding, type FoundRow } from './diagnose.ts'
export { type Doctor, openDoctor } from './open-doctor.ts'
