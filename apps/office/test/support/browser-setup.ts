import type { TestProject } from 'vitest/node'
import { buildWeb, officeScreens } from '../../../../scripts/web-build.ts'
import { findChromium, noChromium } from './chromium.ts'

/** Once for the whole run: finds the browser, and builds the screens that it is going to show. */
export default async function setup(project: TestProject): Promise<void> {
  const chromiumPath = findChromium()
  project.provide('chromiumPath', chromiumPath)
  if (chromiumPath === null) console.log(noChromium)
  else await buildWeb({ ...officeScreens, print: (line) => console.log(line) })
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Null where this machine has no browser. */
    chromiumPath: string | null
  }
}
