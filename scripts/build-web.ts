/** `npm run build:web`, and a part of `npm start`: builds the screens in apps/web where they have changed. */
import { buildWeb, officeScreens } from './web-build.ts'

try {
  await buildWeb({ ...officeScreens, print: (line) => console.log(line) })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error('The screens could not be built. The office runs with those that were built before, or without any.')
  process.exitCode = 1
}
