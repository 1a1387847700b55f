//! What can be said of the processor.

use super::simd::Level;
use crate::device::DeviceFacts;
use std::collections::BTreeMap;

pub(crate) fn facts() -> DeviceFacts {
    let (name, vendor) = processor();
    let level = Level::here().name();
    DeviceFacts {
        name,
        vendor,
        driver: level.into(),
        interface: "cpu".into(),
        threads: threads(),
        features: [level, std::env::consts::ARCH].map(String::from).to_vec(),
        choices: BTreeMap::from([("simd".into(), level.into())]),
        ..DeviceFacts::default()
    }
}

/// Threads that compute.
fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// The processor's own name and its maker's, as it reports them.
#[cfg(target_arch = "x86_64")]
fn processor() -> (String, String) {
    use std::arch::x86_64::__cpuid;
    let text = |words: &[u32]| {
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .filter(|b| *b != 0)
            .collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    let first = __cpuid(0);
    let vendor = text(&[first.ebx, first.edx, first.ecx]);
    if __cpuid(0x8000_0000).eax < 0x8000_0004 {
        return (format!("{vendor} x86-64"), vendor);
    }
    let brand: Vec<u32> = (0x8000_0002..=0x8000_0004)
        .map(__cpuid)
        .flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx])
        .collect();
    (text(&brand), vendor)
}

/// Other processors do not tell a program their name.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> (String, String) {
    (
        format!("{} processor", std::env::consts::ARCH),
        String::new(),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_processor_has_a_name_and_threads() {
        let facts = super::facts();
        assert!(
            !facts.name.is_empty() && facts.threads >= 1 && !facts.driver.is_empty(),
            "{facts:?}"
        );
    }
}
