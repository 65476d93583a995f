export { type ErrorCode, errors } from './errors.ts'
export * from './people-schemas.ts'
export * from './register-schemas.ts'
export * from './schemas.ts'
