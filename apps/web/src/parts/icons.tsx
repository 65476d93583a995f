import type { ReactNode } from 'react'

/** Drawn for this office. Each stands beside a word and says nothing by itself, so none is read out. */
function Icon({ children }: { readonly children: ReactNode }) {
  return (
    <svg
      className="icon"
      width="20"
      height="20"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  )
}

function drawn(...paths: readonly string[]) {
  return () => (
    <Icon>
      {paths.map((path) => (
        <path key={path} d={path} />
      ))}
    </Icon>
  )
}

const circle = (x: number, y: number, r: number) =>
  `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`

export const HomeIcon = drawn('M4 11l8-7 8 7', 'M6 9.500V20h12V9.5', 'M10 20v-6h4v6')
export const PeopleIcon = drawn(
  circle(9, 8, 3.5),
  'M2.5 20c.6-4 3-6 6.5-6s5.9 2 6.5 6',
  'M16 5a3.5 3.5 0 0 1 0 6.5',
  'M18 14.500c2 .8 3.2 2.6 3.5 5.5',
)
export const KeyIcon = drawn(circle(8, 16, 4), 'M11 13l8.5-8.5', 'M15.5 8.500l3 3', 'M18.5 5.500l2 2')
export const BookIcon = drawn('M5 4h13v16H7a2 2 0 0 1-2-2z', 'M5 18a2 2 0 0 1 2-2h11', 'M9 8h5', 'M9 11.500h5')
export const PersonIcon = drawn(circle(12, 8, 4), 'M4.5 21c.7-4.7 3.4-7 7.5-7s6.8 2.3 7.5 7')
export const ChevronIcon = drawn('M6 9l6 6 6-6')
export const CheckIcon = drawn('M5 12.500l4.5 4.500L19 7.5')
export const CopyIcon = drawn('M9 9h11v11H9z', 'M5 15H4V4h11v1')
export const PlusIcon = drawn('M12 5v14', 'M5 12h14')
export const LeaveIcon = drawn('M10 4H4v16h6', 'M9 12h11', 'M16 8l4 4-4 4')
export const DocumentIcon = drawn('M6 3h8l4 4v14H6z', 'M14 3v4h4', 'M9 12h6', 'M9 16h6')
export const ShieldIcon = drawn('M12 3l8 3v6c0 4.5-3.2 7.6-8 9-4.8-1.4-8-4.5-8-9V6z', 'M9 12l2.2 2.200L15.5 10')
export const DownloadIcon = drawn('M12 4v11', 'M7.5 11l4.5 4.500L16.5 11', 'M4 20h16')
export const PrintIcon = drawn('M7 8V3h10v5', 'M7 17H3.500V8h17v9H17', 'M7 14h10v7H7z')
