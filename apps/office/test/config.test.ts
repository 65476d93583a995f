import { describe, expect, test } from 'vitest'
import { ConfigurationError, readConfig } from '../src/config.ts'

describe('EINMAL_TRUSTED_PROXIES', () => {
  const read = (text: string) => readConfig({ EINMAL_TRUSTED_PROXIES: text }).trustedProxies

  test('trusts nobody unless it is set', () => {
    expect(readConfig({}).trustedProxies).toEqual([])
    expect(read('')).toEqual([])
  })

  test('takes addresses, ranges and the word loopback', () => {
    expect(read('loopback, 10.0.0.5,172.16.0.0/12 , ::1, fd00::/8')).toEqual([
      'loopback',
      '10.0.0.5',
      '172.16.0.0/12',
      '::1',
      'fd00::/8',
    ])
  })

  test.each([
    'true',
    '1',
    'proxy.example',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0',
    '10.0.0.0/',
    '*',
    '0.0.0.0/0',
    '::/0',
  ])('refuses %s in words, with the name of the setting', (text) => {
    expect(() => read(`loopback,${text}`)).toThrow(ConfigurationError)
    expect(() => read(`loopback,${text}`)).toThrow(`EINMAL_TRUSTED_PROXIES: "${text}"`)
  })
})
