/**
 * ISO 4217 List One: every code that has a minor unit, with its numeric code and its number of decimals.
 *
 * Source: List One of the maintenance agency (SIX Financial Information) as published on 2024-06-25, with amendments 176
 * to 180 applied. Codes per number of decimals agree with the list published on 2026-09-17: of its 178 codes 17 have
 * none, 139 two, 7 three, 2 four. The other 13 (gold XAU, silver XAG, XDR, the test code XTS, "no currency" XXX, bond
 * units) state no minor unit and are left out on purpose: an integer of minor units of such a code has no meaning, so
 * an amount in it is kept for a person.
 *
 * Recent changes in it: ZWG replaced ZWL (2024-08-31), XCG replaced ANG (2025-03-31), XAD came (2025-05-12), CUC is gone,
 * HRK (2023) and BGN (2026-01-01) gave way to EUR.
 *
 * Why a table of our own: the ICU data behind `Intl.NumberFormat` follows how people write prices, not ISO. It gives
 * HUF, IDR, COP and others no decimals where ISO has two, which would book a hundredfold.
 */

export interface Currency {
  /** Three capital letters, such as `EUR`. */
  readonly code: string
  /** Three digits, such as `978`; text, because zeros in front count. */
  readonly numericCode: string
  /** Decimals between the unit and its minor unit: 2 means that 100 minor units are one. */
  readonly exponent: number
}

/** Code, numeric code, decimals. */
const listOne = `
  AED 784 2, AFN 971 2, ALL 008 2, AMD 051 2, AOA 973 2, ARS 032 2, AUD 036 2, AWG 533 2, AZN 944 2, BAM 977 2,
  BBD 052 2, BDT 050 2, BHD 048 3, BIF 108 0, BMD 060 2, BND 096 2, BOB 068 2, BOV 984 2, BRL 986 2, BSD 044 2,
  BTN 064 2, BWP 072 2, BYN 933 2, BZD 084 2, CAD 124 2, CDF 976 2, CHE 947 2, CHF 756 2, CHW 948 2, CLF 990 4,
  CLP 152 0, CNY 156 2, COP 170 2, COU 970 2, CRC 188 2, CUP 192 2, CVE 132 2, CZK 203 2, DJF 262 0, DKK 208 2,
  DOP 214 2, DZD 012 2, EGP 818 2, ERN 232 2, ETB 230 2, EUR 978 2, FJD 242 2, FKP 238 2, GBP 826 2, GEL 981 2,
  GHS 936 2, GIP 292 2, GMD 270 2, GNF 324 0, GTQ 320 2, GYD 328 2, HKD 344 2, HNL 340 2, HTG 332 2, HUF 348 2,
  IDR 360 2, ILS 376 2, INR 356 2, IQD 368 3, IRR 364 2, ISK 352 0, JMD 388 2, JOD 400 3, JPY 392 0, KES 404 2,
  KGS 417 2, KHR 116 2, KMF 174 0, KPW 408 2, KRW 410 0, KWD 414 3, KYD 136 2, KZT 398 2, LAK 418 2, LBP 422 2,
  LKR 144 2, LRD 430 2, LSL 426 2, LYD 434 3, MAD 504 2, MDL 498 2, MGA 969 2, MKD 807 2, MMK 104 2, MNT 496 2,
  MOP 446 2, MRU 929 2, MUR 480 2, MVR 462 2, MWK 454 2, MXN 484 2, MXV 979 2, MYR 458 2, MZN 943 2, NAD 516 2,
  NGN 566 2, NIO 558 2, NOK 578 2, NPR 524 2, NZD 554 2, OMR 512 3, PAB 590 2, PEN 604 2, PGK 598 2, PHP 608 2,
  PKR 586 2, PLN 985 2, PYG 600 0, QAR 634 2, RON 946 2, RSD 941 2, RUB 643 2, RWF 646 0, SAR 682 2, SBD 090 2,
  SCR 690 2, SDG 938 2, SEK 752 2, SGD 702 2, SHP 654 2, SLE 925 2, SOS 706 2, SRD 968 2, SSP 728 2, STN 930 2,
  SVC 222 2, SYP 760 2, SZL 748 2, THB 764 2, TJS 972 2, TMT 934 2, TND 788 3, TOP 776 2, TRY 949 2, TTD 780 2,
  TWD 901 2, TZS 834 2, UAH 980 2, UGX 800 0, USD 840 2, USN 997 2, UYI 940 0, UYU 858 2, UYW 927 4, UZS 860 2,
  VED 926 2, VES 928 2, VND 704 0, VUV 548 0, WST 882 2, XAD 396 2, XAF 950 0, XCD 951 2, XCG 532 2, XOF 952 0,
  XPF 953 0, YER 886 2, ZAR 710 2, ZMW 967 2, ZWG 924 2,
`

const byCode: ReadonlyMap<string, Currency> = new Map(
  listOne
    .trim()
    .split(/,\s*/)
    .filter((row) => row !== '')
    .map((row) => {
      const [code = '', numericCode = '', exponent = ''] = row.split(' ')
      return [code, { code, numericCode, exponent: Number(exponent) }]
    }),
)

/** All currencies, in the order of their codes. */
export const currencies: readonly Currency[] = [...byCode.values()]

/** Finds a currency by its code in capital letters. Capitals are the caller's business, as it is the sender's habit. */
export function findCurrency(code: string): Currency | undefined {
  return byCode.get(code)
}
