/** The mark of the office: everything counts once. */
export function Mark() {
  return (
    <span className="mark">
      <span className="mark-sign" aria-hidden="true">
        1×
      </span>
      <span className="mark-word">Einmal</span>
    </span>
  )
}
