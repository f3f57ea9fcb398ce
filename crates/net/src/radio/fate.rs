//! The reasons for which copies of packets end in a radio network.

/// Defines the enum of fates with their names and descriptions. Add new reasons of drops here.
macro_rules! packet_fates {
    ($($variant:ident $name:literal $words:literal;)*) => {
        /// The outcome of a packet, or of a copy of a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum PacketFate {
            /// Forwarded or delivered.
            Sent,
            $(#[doc = $words] $variant,)*
        }

        impl PacketFate {
            /// Every reason of a drop, in the order of their numbers.
            pub const DROPS: [PacketFate; [$($name),*].len()] = [$(PacketFate::$variant),*];
            /// Its name in outputs.
            pub const fn name(self) -> &'static str {
                match self { PacketFate::Sent => "sent", $(PacketFate::$variant => $name,)* }
            }
            /// Its description.
            pub const fn words(self) -> &'static str {
                match self { PacketFate::Sent => "forwarded or delivered", $(PacketFate::$variant => $words,)* }
            }
        }
    };
}

packet_fates! {
    Queue "queue" "the interface queue was full";
    Retry "retry" "the MAC reached its retry limit";
    Arp "arp" "replaced by a later packet while ARP resolved the address of the next hop";
    NoRoute "route" "no route was found";
    Broken "broken" "queued for a neighbour whose link broke";
    Buffer "buffer" "the buffer of packets that wait for a route was full";
    Timeout "timeout" "waited too long for a route";
    Ttl "ttl" "too many hops";
    Loop "loop" "returned to its source";
}
