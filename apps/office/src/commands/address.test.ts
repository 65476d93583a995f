import { describe, expect, test } from 'vitest'
import { Address } from './address.ts'

describe('where people reach the office', () => {
  test('on this machine by either of its names, and by no other port', () => {
    const { trustedOrigins } = new Address({ baseUrl: 'http://127.0.0.1:3000', port: 3000 })
    expect(trustedOrigins).toEqual(['http://127.0.0.1:3000', 'http://localhost:3000'])
  })

  test('over TLS by its own name alone', () => {
    const { trustedOrigins } = new Address({ baseUrl: 'https://office.example/', port: 3000 })
    expect(trustedOrigins).toEqual(['https://office.example'])
  })

  test('a port that the system chooses is part of it as soon as it is known', () => {
    const address = new Address({ baseUrl: 'http://127.0.0.1:0', port: 0 })
    address.learn(4711)
    expect(address.baseUrl).toBe('http://127.0.0.1:4711')
    expect(address.trustedOrigins).toEqual(['http://127.0.0.1:4711', 'http://localhost:4711'])
  })
})
