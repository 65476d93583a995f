import { localStorageColorSchemeManager } from '@mantine/core'

/** Known to public/before-first-paint.js too. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'einmal-color-scheme' })
