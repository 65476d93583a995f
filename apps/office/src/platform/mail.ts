import { createTransport } from 'nodemailer'

export interface Mail {
  readonly to: string
  readonly subject: string
  /** Plain text. */
  readonly text: string
}

/** Resolves when the mail server has taken the mail; rejects where it did not, or did not say so in time. */
export type SendMail = (mail: Mail) => Promise<void>

const TIMEOUT_MS = 15_000

/** @param url such as `smtps://user:password@mail.example.org`; @param from what recipients see as the sender. */
export function createMailer({ url, from }: { url: string; from: string }): SendMail {
  const transport = createTransport(
    {
      url,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  )
  return async ({ to, subject, text }) => {
    // As an object, so that no sign in an address can make two recipients of one.
    await transport.sendMail({ to: { name: '', address: to }, subject, text })
  }
}
