import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const office = { target: 'http://127.0.0.1:3000' }

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    // What each page loads can be computed from it.
    manifest: true,
    // The policy of the page allows no inlined script, font or style.
    assetsInlineLimit: 0,
  },
  server: { proxy: { '/api': office } },
  preview: { proxy: { '/api': office } },
})
