import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '@einmal/contract'
import { PasswordInput, type PasswordInputProps, TextInput, type TextInputProps } from '@mantine/core'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'

export const fieldTexts = texts(
  {
    email: 'E-mail',
    password: 'Password',
    newPassword: 'New password',
    passwordHint: 'At least 10 characters. Several words are easy to remember and hard to guess.',
    showPassword: 'Show the password',
    code: 'Code from your app',
    codeHint: 'Six digits from the app on your phone.',
    recoveryCode: 'Recovery code',
    name: 'Your name',
    emailMissing: 'Please enter your e-mail address.',
    emailWrong: 'Please enter a whole e-mail address, such as anna@example.org.',
    passwordMissing: 'Please enter your password.',
    passwordShort: 'Please take at least 10 characters.',
    passwordLong: 'Please take at most 128 characters.',
    nameMissing: 'Please enter your name.',
    codeMissing: 'Please enter the six digits that your app shows.',
    recoveryCodeMissing: 'Please enter one of your recovery codes.',
    currentPassword: 'Current password',
  },
  {
    email: 'E-Mail',
    password: 'Passwort',
    newPassword: 'Neues Passwort',
    passwordHint: 'Mindestens 10 Zeichen. Mehrere Wörter merkt man sich leicht, und zu erraten sind sie schwer.',
    showPassword: 'Passwort zeigen',
    code: 'Code aus Ihrer App',
    codeHint: 'Sechs Ziffern aus der App auf Ihrem Telefon.',
    recoveryCode: 'Wiederherstellungscode',
    name: 'Ihr Name',
    emailMissing: 'Bitte geben Sie Ihre E-Mail-Adresse ein.',
    emailWrong: 'Bitte geben Sie eine ganze E-Mail-Adresse ein, etwa anna@example.org.',
    passwordMissing: 'Bitte geben Sie Ihr Passwort ein.',
    passwordShort: 'Bitte nehmen Sie mindestens 10 Zeichen.',
    passwordLong: 'Bitte nehmen Sie höchstens 128 Zeichen.',
    nameMissing: 'Bitte geben Sie Ihren Namen ein.',
    codeMissing: 'Bitte geben Sie die sechs Ziffern ein, die Ihre App zeigt.',
    recoveryCodeMissing: 'Bitte geben Sie einen Ihrer Wiederherstellungscodes ein.',
    currentPassword: 'Jetziges Passwort',
  },
)

type FieldKey = keyof (typeof fieldTexts)['en']
type FieldError = Extract<FieldKey, `${string}${'Missing' | 'Wrong' | 'Short' | 'Long'}`>

/** What is wrong with an entry; `null` where nothing is. */
export const checks = {
  email(value: string): FieldError | null {
    if (value.trim() === '') return 'emailMissing'
    return /^\S+@\S+\.\S+$/.test(value.trim()) ? null : 'emailWrong'
  },
  password: (value: string): FieldError | null => (value === '' ? 'passwordMissing' : null),
  newPassword(value: string): FieldError | null {
    if (value.length < PASSWORD_LENGTH_MIN) return 'passwordShort'
    return value.length > PASSWORD_LENGTH_MAX ? 'passwordLong' : null
  },
  name: (value: string): FieldError | null => (value.trim() === '' ? 'nameMissing' : null),
  code: (value: string): FieldError | null => (/^\d{6}$/.test(value.replaceAll(' ', '')) ? null : 'codeMissing'),
  recoveryCode: (value: string): FieldError | null => (value.trim() === '' ? 'recoveryCodeMissing' : null),
}

export function EmailField(props: TextInputProps) {
  const say = useTexts(fieldTexts)
  return (
    <TextInput
      type="email"
      label={say('email')}
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      {...props}
    />
  )
}

/** `isNew` for one that is being chosen: password managers then offer one. */
export function PasswordField({ isNew = false, ...props }: PasswordInputProps & { readonly isNew?: boolean }) {
  const say = useTexts(fieldTexts)
  return (
    <PasswordInput
      label={say(isNew ? 'newPassword' : 'password')}
      description={isNew ? say('passwordHint') : null}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': say('showPassword') }}
      {...props}
    />
  )
}

/** The six digits of an authenticator app. */
export function CodeField(props: TextInputProps) {
  const say = useTexts(fieldTexts)
  return (
    <TextInput
      label={say('code')}
      description={say('codeHint')}
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={7}
      {...props}
    />
  )
}

export function NameField(props: TextInputProps) {
  const say = useTexts(fieldTexts)
  return <TextInput label={say('name')} autoComplete="name" maxLength={200} {...props} />
}
