import { actEntrances } from './act-entrances.ts'
import { type Entrance, payments } from './entrances.ts'
import { returnEntrances } from './return-entrances.ts'

export const entrances: readonly Entrance[] = [...payments, ...returnEntrances, ...actEntrances]
