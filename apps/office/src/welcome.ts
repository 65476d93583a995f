/** The page at `/` until the screens exist: what runs here, and what to do next. */
export function welcomePage(): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Einmal</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
  body { max-width: 42rem; margin: 12vh auto; padding: 0 1.25rem; }
  h1 { font-size: 2.5rem; letter-spacing: -0.02em; margin: 0; }
  h1 small { font-weight: 400; opacity: 0.65; font-size: 1.25rem; }
  code { font-family: ui-monospace, monospace; background: color-mix(in srgb, currentColor 9%, transparent); padding: 0.1em 0.35em; border-radius: 0.3em; }
  li { margin: 0.6rem 0; }
</style>
<h1>1× <small>Einmal</small></h1>
<p>The office runs. Every payment counts exactly once, however often it arrives.</p>
<ol>
  <li>In a second terminal: <code>npm run demo</code> delivers payments again and again and shows what counted.</li>
  <li>The API key of the demo organisation stands in <code>data/demo.json</code>.</li>
  <li>All calls, to read and to try: <a href="/api/docs/">/api/docs</a></li>
</ol>
<p>The screens follow. Until then, the API is the office.</p>
</html>
`
}
