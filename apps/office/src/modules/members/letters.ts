import type { Language } from '../../platform/languages.ts'
import type { Mail } from '../../platform/mail.ts'

type Letter = Omit<Mail, 'to'>

/** The letter with which somebody is invited. */
export function invitationLetter(
  language: Language,
  { organizationName, inviterName, link }: { organizationName: string; inviterName: string; link: string },
): Letter {
  const [organization, inviter] = [oneLine(organizationName), oneLine(inviterName)]
  return language === 'de'
    ? {
        subject: `Einladung zu ${organization}`,
        text: `Guten Tag,

${inviter} lädt Sie ein, bei ${organization} in Einmal mitzuarbeiten.

Mit diesem Link nehmen Sie die Einladung an. Er gilt sieben Tage:
${link}

Wenn Sie damit nichts anfangen können, müssen Sie nichts tun.
`,
      }
    : {
        subject: `Invitation to ${organization}`,
        text: `Hello,

${inviter} invites you to work in ${organization} on Einmal.

This link accepts the invitation. It is good for seven days:
${link}

If this means nothing to you, there is nothing you need to do.
`,
      }
}

/** The letter with the link for a new password. */
export function resetLetter(language: Language, link: string): Letter {
  return language === 'de'
    ? {
        subject: 'Neues Passwort für Einmal',
        text: `Guten Tag,

mit diesem Link wählen Sie ein neues Passwort. Er gilt eine Stunde und ein einziges Mal:
${link}

Danach sind Sie auf allen Geräten abgemeldet. Wenn Sie das nicht wollten, müssen Sie nichts tun; Ihr Passwort bleibt, wie es ist.
`,
      }
    : {
        subject: 'A new password for Einmal',
        text: `Hello,

this link lets you choose a new password. It is good for an hour, and once:
${link}

After that you are signed out on all devices. If you did not ask for this, there is nothing you need to do; your password stays as it is.
`,
      }
}

/** A name is what somebody typed in, and must not add lines of its own. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
