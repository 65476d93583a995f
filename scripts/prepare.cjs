// Runs before `npm start`, `npm test` and the like: makes sure that node_modules holds what package-lock.json says, and
// that node_modules/.bin/node is the Node.js the project runs on. Plain JavaScript for Node.js 18 and newer, because it
// runs on whatever the machine has, before anything is installed.
'use strict'

const { spawn, spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')

const root = path.dirname(__dirname)
const modules = path.join(root, 'node_modules')
const lockfilePath = path.join(root, 'package-lock.json')
const stampPath = path.join(modules, '.prepared')
const nodeLink = path.join(modules, '.bin', 'node')
const guardPath = path.join(root, '.prepare.lock')
/** The oldest Node.js that runs TypeScript as it is. */
const nodeMinimum = [22, 18]
/** The npm that is installing at this moment. */
let runningNpm

async function main() {
  if (isPrepared()) return
  await takeGuard()
  try {
    // Whoever had the guard before us may have done the work.
    if (isPrepared()) return
    if (!holdsLockedPackages()) await install()
    linkNode()
    writeStamp()
  } finally {
    releaseGuard()
  }
}

/**
 * Names what is installed: other packages on another kind of machine, so a copied folder does not pass for a prepared
 * one.
 */
function stamp() {
  const hash = createHash('sha256').update(fs.readFileSync(lockfilePath)).digest('hex')
  return `${hash} ${process.platform}-${process.arch}\n`
}

function isPrepared() {
  if (!fs.existsSync(nodeLink)) return false
  if (readText(stampPath) === stamp()) return true
  if (!holdsLockedPackages() || !versionOf(nodeLink)) return false
  writeStamp()
  return true
}

function writeStamp() {
  try {
    fs.writeFileSync(stampPath, stamp())
  } catch (error) {
    // A read-only installation: the packages are there, which then is found out anew at every start.
    if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error
  }
}

/**
 * Compares with the list that npm leaves in node_modules when it is through. It saves the minute after `npm ci` or `npm
 * install` by hand; an installation that was cut off leaves no list.
 */
function holdsLockedPackages() {
  const text = readText(path.join(modules, '.package-lock.json'))
  if (!text) return false
  const installed = JSON.parse(text).packages
  const locked = JSON.parse(fs.readFileSync(lockfilePath, 'utf8')).packages
  return Object.entries(locked).every(([folder, wanted]) => {
    if (!folder.startsWith('node_modules/') && !folder.includes('/node_modules/')) return true
    const found = installed[folder]
    if (!found) return wanted.optional === true && !isMeantForThisMachine(wanted)
    if (!fs.existsSync(path.join(root, folder))) return false
    return found.version === wanted.version && found.integrity === wanted.integrity && found.link === wanted.link
  })
}

/** Without a word about machines, it is a part of some other optional package. */
function isMeantForThisMachine({ os, cpu, libc }) {
  if (!os && !cpu) return false
  const fits = (names, name) => !names || [names].flat().includes(name)
  return fits(os, process.platform) && fits(cpu, process.arch) && fits(libc, cLibrary())
}

function cLibrary() {
  if (process.platform !== 'linux') return undefined
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
}

async function install() {
  console.log('Installing the packages, this takes about a minute …')
  const startedAt = Date.now()
  await runNpm(['ci'], findNpm())
  const own = findOwnNode()
  // npm leaves out, without a word, optional packages that do not care for the (older) Node.js it runs on: so once more
  // on ours.
  if (!holdsLockedPackages() && own && versionOf(own)) await runNpm(['install', '--no-save'], findNpm(own))
  console.log(`Packages installed in ${Math.round((Date.now() - startedAt) / 1000)} s.`)
}

async function runNpm(command, { program, args, shell }) {
  const options = [
    // No package needs a script, and none gets to run one.
    '--ignore-scripts',
    '--loglevel=error',
    '--no-audit',
    '--no-fund',
    // The tools are part of it, also where NODE_ENV says production.
    ...['--include=dev', '--include=optional'],
    // The lock names exact contents, so what is in the cache is never too old.
    '--prefer-offline',
    // Without a network, the answer comes after some 20 s instead of minutes.
    ...['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-factor=4'],
  ]
  const child = spawn(program, [...args, ...command, ...options], {
    cwd: root,
    env: npmEnvironment(),
    shell,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  runningNpm = child
  // If this script is killed, npm works on; the guard then holds until npm has ended too.
  if (child.pid) fs.writeFileSync(guardPath, holderText(process.pid) + holderText(child.pid))
  let output = ''
  child.stderr.on('data', (bytes) => {
    output += bytes
  })
  const end = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${signal ?? code}`))
  })
  runningNpm = undefined
  if (end) throw new Problem(describeFailure(`npm ${command[0]} ${end}`, output))
}

function describeFailure(end, output) {
  const network =
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED/
  const advice = network.test(output)
    ? 'The package registry cannot be reached. Check the connection to the internet and, behind a proxy, `npm config get proxy`; then run the same command again.'
    : 'Run the same command again; if it fails again, the lines above say why.'
  return `${output.trim()}\n\nThe packages could not be installed (${end}).\n${advice}`
}

/**
 * The npm that runs us, on the Node.js that runs it. Never process.execPath: npm puts node_modules/.bin first in the
 * PATH, so this script may run on the very Node.js that `npm ci` is about to delete.
 */
function findNpm(chosenNode) {
  const isWindows = process.platform === 'win32'
  const { npm_execpath: given = '', npm_node_execpath: givenNode = '' } = process.env
  const found = isWindows ? undefined : findOnPath('npm')
  const npm = isNpm(given) ? given : found && fs.realpathSync(found)
  if (npm && isNpm(npm) && !isWindows) {
    const outerNode = givenNode && !isInside(givenNode) ? givenNode : findOnPath('node')
    return { program: chosenNode ?? outerNode ?? process.execPath, args: [npm], shell: false }
  }
  // A version manager's stand-in, which picks its Node.js itself.
  if (found) return { program: found, args: [], shell: false }
  // Windows, where npm is a script for the shell; it brings its own Node.js.
  const script = findOnPath('npm.cmd')
  if (script) return { program: `"${script}"`, args: [], shell: true }
  throw new Problem('npm was not found. Install Node.js with npm (https://nodejs.org) and run the same command again.')
}

function isNpm(file) {
  return /npm-cli\.c?js$/.test(file)
}

function npmEnvironment() {
  const environment = { ...process.env, PATH: foldersOnPath().join(path.delimiter) }
  // What was said to the outer npm (`npm test --workspace=…`) must not make the inner one install a part only.
  const outer = [
    'workspace',
    'workspaces',
    'include_workspace_root',
    'global',
    'dry_run',
    'package_lock_only',
    'omit',
    'include',
  ]
  for (const name of Object.keys(environment)) {
    if (outer.some((option) => name.toLowerCase() === `npm_config_${option}`)) delete environment[name]
  }
  return environment
}

function foldersOnPath() {
  return (process.env.PATH ?? '').split(path.delimiter).filter((folder) => folder && !isInside(folder))
}

function findOnPath(name) {
  const file = process.platform === 'win32' && !path.extname(name) ? `${name}.exe` : name
  return foldersOnPath()
    .map((folder) => path.join(folder, file))
    .find((candidate) => fs.existsSync(candidate))
}

/** Also through a link, which node_modules/.bin is full of. */
function isInside(file) {
  const isBelow = (candidate) => candidate === modules || candidate.startsWith(modules + path.sep)
  return isBelow(path.resolve(file)) || (fs.existsSync(file) && isBelow(fs.realpathSync(file)))
}

/**
 * npm 10, which comes with Node.js 18 to 22, does not link the programs of optional packages. Where the Node.js of the
 * packages does not run (another C library, a rare processor), the link leads to that of the machine, if it is new
 * enough.
 */
function linkNode() {
  if (versionOf(nodeLink)) return
  const own = findOwnNode()
  const target = own && versionOf(own) ? path.relative(path.dirname(nodeLink), own) : findSystemNode()
  fs.mkdirSync(path.dirname(nodeLink), { recursive: true })
  fs.rmSync(nodeLink, { force: true })
  if (process.platform === 'win32') {
    // Links need a privilege there; the shell finds node.cmd, and the empty file says that all is done.
    fs.writeFileSync(`${nodeLink}.cmd`, `@"${path.resolve(path.dirname(nodeLink), target)}" %*\r\n`)
    fs.writeFileSync(nodeLink, '')
  } else fs.symlinkSync(target, nodeLink)
}

function findOwnNode() {
  for (const [folder, { bin }] of installedNodePackages()) {
    const file = typeof bin === 'string' ? bin : bin?.node
    if (file) return path.join(folder, file)
  }
  return undefined
}

/** The optional packages with a Node.js; only the one for this machine is there. */
function installedNodePackages() {
  const names = Object.keys(
    JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).optionalDependencies ?? {},
  )
  return names
    .filter((name) => /^node-.*(linux|darwin|win)/.test(name))
    .map((name) => path.join(modules, name))
    .filter((folder) => fs.existsSync(path.join(folder, 'package.json')))
    .map((folder) => [folder, JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))])
}

function findSystemNode() {
  const node = findOnPath('node')
  const [major, minor] = node ? (versionOf(node) ?? [0, 0]) : [0, 0]
  if (major > nodeMinimum[0] || (major === nodeMinimum[0] && minor >= nodeMinimum[1])) return fs.realpathSync(node)
  throw new Problem(
    `The Node.js that comes with the packages does not run on this machine (${process.platform}-${process.arch}). Install Node.js ${nodeMinimum.join('.')} or newer, and run the same command again.`,
  )
}

function versionOf(node) {
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  const found = status === 0 ? /^v(\d+)\.(\d+)/.exec(stdout) : null
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

/** Two commands at once must not both install: `npm ci` begins by deleting what the other has just written. */
async function takeGuard() {
  let reported = false
  while (!createGuard()) {
    removeDeadGuard()
    if (!reported && fs.existsSync(guardPath)) {
      reported = true
      console.log('Another command is installing the packages in this folder; waiting for it …')
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => giveUp(signal))
}

function createGuard() {
  try {
    fs.writeFileSync(guardPath, holderText(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** With npm at work, its end is ours: it must not go on alone in a folder that the next command believes to be free. */
function giveUp(signal) {
  if (runningNpm) {
    runningNpm.kill(signal)
    return
  }
  releaseGuard()
  process.exit(1)
}

/** Only one at a time may remove it: else the second would remove the guard that the first has taken since. */
function removeDeadGuard() {
  if (!isDead(readText(guardPath))) return
  const turn = `${guardPath}.turn`
  try {
    fs.mkdirSync(turn)
  } catch {
    // Its holder needs some milliseconds; if it was killed within them, its turn is over.
    const age = Date.now() - (fs.statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > 10_000) fs.rmSync(turn, { recursive: true, force: true })
    return
  }
  try {
    if (isDead(readText(guardPath))) fs.rmSync(guardPath, { force: true })
  } finally {
    fs.rmSync(turn, { recursive: true, force: true })
  }
}

function isDead(text) {
  if (text === undefined) return false
  const holders = text.split('\n').filter(Boolean)
  if (holders.length > 0) return holders.every(isDeadHolder)
  // Empty is a guard in the instant before its content comes, unless it stays so.
  return Date.now() - (fs.statSync(guardPath, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > 10_000
}

function isDeadHolder(holder) {
  const pid = Number(holder.split(' ')[0])
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return true
  }
  return holderText(pid) !== `${holder}\n`
}

/** Process numbers come again; together with the moment of its start, a number means one process. */
function holderText(pid) {
  const status = readText(`/proc/${pid}/stat`)
  const startedAt = status ? status.slice(status.lastIndexOf(')') + 2).split(' ')[19] : ''
  return `${pid} ${startedAt}\n`
}

function releaseGuard() {
  if (readText(guardPath)?.startsWith(holderText(process.pid))) fs.rmSync(guardPath, { force: true })
}

function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Something the reader can mend: shown without a stack. */
class Problem extends Error {}

main().catch((error) => {
  console.error(error instanceof Problem ? error.message : error)
  process.exitCode = 1
})
