export { type ErrorCode, errors } from './errors.ts'
export * from './schemas.ts'
