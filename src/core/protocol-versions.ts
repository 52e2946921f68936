/** The version of the modern era. */
export const MODERN_VERSION = '2026-07-28';

/** The versions of the legacy era, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** All versions of MCP that Heddle speaks, newest first. */
export const PROTOCOL_VERSIONS = [MODERN_VERSION, ...LEGACY_VERSIONS] as const;

export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];
