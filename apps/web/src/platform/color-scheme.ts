import { localStorageColorSchemeManager } from '@mantine/core'

/** Known to public/before-first-paint.js too. */
export const COLOR_SCHEME_KEY = 'einmal-color-scheme'

export const colorSchemeManager = localStorageColorSchemeManager({ key: COLOR_SCHEME_KEY })
