import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

/** The one accent: the blue-green of old account books. From the eighth shade on, white on it is easy to read. */
const ink: MantineColorsTuple = [
  '#edf6f7',
  '#d9ebed',
  '#b0d6da',
  '#83c0c7',
  '#5dadb6',
  '#419fa9',
  '#1f8390',
  '#0b6570',
  '#0b5963',
  '#064850',
]

export const theme = createTheme({
  primaryColor: 'ink',
  primaryShade: 7,
  colors: { ink },
  black: '#16191d',
  defaultRadius: 'sm',
  cursorType: 'pointer',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", "DejaVu Sans", sans-serif',
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.625rem', lineHeight: '1.3' } } },
  components: {
    // Errors are read out as soon as they appear, and belong to their field.
    InputWrapper: { defaultProps: { errorProps: { role: 'alert' } } },
    Modal: { defaultProps: { centered: true, transitionProps: { duration: 0 } } },
    Menu: {
      // Within its landmark, and without a child that is no item.
      defaultProps: { transitionProps: { duration: 0 }, withinPortal: false, withInitialFocusPlaceholder: false },
    },
  },
})

/** Mantine's own shades of secondary text, errors and edges are too pale to be read by everybody; these pass WCAG AA in both schemes. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-error': '#b3261e',
    '--mantine-color-dimmed': '#545b64',
    '--mantine-color-placeholder': '#5f6670',
    '--mantine-color-default-border': '#828a94',
    '--mantine-color-anchor': '#0b6570',
  },
  dark: {
    '--mantine-color-error': '#ff9d95',
    '--mantine-color-dimmed': '#b3b8be',
    '--mantine-color-placeholder': '#a5abb2',
    '--mantine-color-default-border': '#7d848c',
    '--mantine-color-anchor': '#83c0c7',
  },
})
