import { defineConfig } from 'vitest/config'

const withDatabase = {
  globalSetup: ['apps/office/test/support/global-setup.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
}

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/{src,test}/**/*.test.ts',
            'apps/{office,web}/src/**/*.test.ts',
            'apps/office/test/*.test.ts',
            '{scripts,tidy}/**/*.test.ts',
          ],
          exclude: ['**/*.pg.test.ts', 'packages/*/test/fault/**', '**/node_modules/**'],
        },
      },
      {
        test: {
          name: 'pg',
          include: [
            'packages/*/test/**/*.pg.test.ts',
            'apps/office/{src,test}/**/*.pg.test.ts',
            'tidy/**/*.pg.test.ts',
          ],
          exclude: ['apps/office/test/{cases,fault,exactly-once}/**', '**/node_modules/**'],
          ...withDatabase,
        },
      },
      { test: { name: 'exactly-once', include: ['apps/office/test/exactly-once/**/*.test.ts'], ...withDatabase } },
      { test: { name: 'model', include: ['apps/office/test/model/**/*.test.ts'], ...withDatabase } },
      { test: { name: 'cases', include: ['apps/office/test/cases/**/*.test.ts'], ...withDatabase } },
      { test: { name: 'plans', include: ['apps/office/test/plans/**/*.test.ts'], ...withDatabase } },
      {
        test: {
          name: 'browser',
          include: ['apps/office/test/browser/**/*.test.ts'],
          ...withDatabase,
          globalSetup: ['apps/office/test/support/browser-setup.ts', ...withDatabase.globalSetup],
        },
      },
      {
        test: {
          name: 'fault',
          include: ['apps/office/test/fault/**/*.test.ts', 'packages/*/test/fault/**/*.test.ts'],
          ...withDatabase,
        },
      },
    ],
  },
})
