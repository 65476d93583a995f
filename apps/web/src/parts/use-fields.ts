import { type ChangeEvent, type FormEvent, useState } from 'react'
import { flushSync } from 'react-dom'

export type Values<Name extends string> = Readonly<Record<Name, string>>

/** `null` or nothing where a field is sound. */
type Errors<Name extends string> = Readonly<{ [Field in Name]?: string | null }>

interface Field<Name extends string> {
  readonly name: Name
  readonly value: string
  readonly error: string | null
  onChange(event: ChangeEvent<HTMLInputElement | HTMLSelectElement>): void
}

interface Fields<Name extends string> {
  readonly values: Values<Name>
  field(name: Name): Field<Name>
  set(name: Name, value: string): void
  /** For a form's `onSubmit`: `then` runs only when the check finds nothing; else the first field with an error gets the focus. */
  whenSound(then: (values: Values<Name>) => void): (event: FormEvent<HTMLFormElement>) => void
}

/** The fields of a form. An error is shown when the form is sent and goes when its field is changed. */
export function useFields<Name extends string>(
  initial: Values<Name>,
  check: (values: Values<Name>) => Errors<Name>,
): Fields<Name> {
  const [values, setValues] = useState(initial)
  const [errors, setErrors] = useState<Errors<Name> | null>(null)
  const set = (name: Name, value: string) => {
    setValues((before) => ({ ...before, [name]: value }))
    setErrors((before) => (before === null ? null : { ...before, [name]: null }))
  }
  return {
    values,
    set,
    field: (name) => ({
      name,
      value: values[name],
      error: errors?.[name] ?? null,
      onChange: (event) => set(name, event.currentTarget.value),
    }),
    whenSound: (then) => (event) => {
      event.preventDefault()
      const form = event.currentTarget
      const found = check(values)
      flushSync(() => setErrors(found))
      if (Object.values(found).some((error) => typeof error === 'string')) {
        form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
      } else then(values)
    },
  }
}
