import { MantineProvider } from '@mantine/core'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { colorSchemeManager } from './platform/color-scheme.ts'
import { LanguageProvider } from './platform/language/language-context.tsx'
import { styleNonce } from './platform/style-nonce.ts'
import { cssVariables, theme } from './platform/theme.ts'
import { router } from './router.ts'
import './styles.css'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
      getStyleNonce={() => styleNonce}
    >
      <LanguageProvider>
        <RouterProvider router={router} />
      </LanguageProvider>
    </MantineProvider>
  </StrictMode>,
)
