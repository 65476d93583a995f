import { setNonce } from 'get-nonce'

/**
 * The word by which the page's policy knows the styles that its own script makes. The server puts a new one into index.html for every
 * answer.
 */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''

// What holds the page still behind an open dialog makes its own style and asks here.
setNonce(styleNonce)
