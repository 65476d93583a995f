import { describe, expect, test } from 'vitest'
import { networkOf } from './sign-in-attempts.ts'

describe('an address counts', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
  ])('as itself where it is one of IPv4: %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:1:2::1', '2001:DB8:0001:0002:0:0:0:9'],
    ['fe80::1', 'fe80::1%eth0'],
    ['::1', '::2'],
  ])('with all of its customer where it is one of IPv6: %s and %s are one', (one, other) => {
    expect(networkOf(one)).toBe(networkOf(other))
  })

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['::1', '2001:db8::1'],
    ['192.0.2.1', '192.0.2.2'],
  ])('apart from the next customer: %s and %s are two', (one, other) => {
    expect(networkOf(one)).not.toBe(networkOf(other))
  })

  test('as it stands where it is none that we know', () => {
    expect(networkOf('unknown')).toBe('unknown')
  })
})
