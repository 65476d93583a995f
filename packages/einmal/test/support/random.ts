/** The seed of this run, printed; `EINMAL_TEST_SEED` runs an old one again. */
export function chooseSeed(): number {
  const seed = Number(process.env['EINMAL_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
  console.log(`EINMAL_TEST_SEED=${seed}`)
  return seed
}
